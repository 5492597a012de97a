//go:build !linux

package lsm

import "fmt"

func version() (int, error) {
	return 0, fmt.Errorf("%w: it is a part of Linux", ErrUnavailable)
}

func errata() (Errata, error) {
	return 0, fmt.Errorf("%w: it is a part of Linux", ErrUnavailable)
}
