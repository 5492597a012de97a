//go:build unix && !linux

package tree

func lookup(dir int, rel string, flags int) (int, error) { return walk(dir, rel, flags) }
