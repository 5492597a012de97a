package bwrap_test

import (
	"fmt"
	"os"
	"testing"

	"sandboxd/bwrap"
	"sandboxd/profile"
)

// BenchmarkCompile: a trusted project of 10,000 files with the built-in
// protected names, scanned again each time.
func BenchmarkCompile(b *testing.B) {
	top := b.TempDir()
	for dir := range 100 {
		path := fmt.Sprintf("%s/src/d%d", top, dir)
		if err := os.MkdirAll(path, 0o755); err != nil {
			b.Fatal(err)
		}
		for file := range 100 {
			if err := os.WriteFile(fmt.Sprintf("%s/f%d.go", path, file), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	rules := append(system(), allow(rwx, top))
	for _, name := range profile.ProtectedNames(profile.Executed) {
		rules = append(rules, named(profile.Protect, top, name))
	}
	p := mustNew(b, rules...)
	b.ReportAllocs()
	for b.Loop() {
		_, err := bwrap.Compile(p, nil, bwrap.Host{Version: bwrap.Version{Minor: 8}, FS: bwrap.HostFS(), Euid: 1000,
			Descriptor: 3})
		if err != nil {
			b.Fatal(err)
		}
	}
}
