//go:build unix && !linux

package tree

// mountID is the device number, where there is nothing finer.
type mountID struct{ device uint64 }

func mountOf(fd int) (mountID, error) {
	s, err := fstat(fd)
	return mountID{s.Device}, err
}

func (t *Tree) checkMount(fd int) error {
	m, err := mountOf(fd)
	if err != nil {
		return err
	}
	if m != t.mount {
		return errMount
	}
	return nil
}
