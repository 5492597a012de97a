//go:build !linux

package aftermath

// loosen needs descriptors that name a directory without opening it.
func loosen(int, string, uint32) func() { return nil }
