//go:build unix && !linux

package worker

const groupOfFolder = true
