package aftermath_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sandboxd/profile"
	"sandboxd/supervisor/aftermath"
)

// BenchmarkBefore looks at a tree of 10,000 files in 500 folders; every run
// takes two such looks.
func BenchmarkBefore(b *testing.B) {
	root, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for i := range 500 {
		dir := filepath.Join(root, fmt.Sprint("d", i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 20 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("f", j)), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	spec := profile.Spec{Rules: []profile.Rule{{Kind: profile.Allow, Access: profile.Read | profile.Write, Path: root}}}
	for _, name := range profile.ProtectedNames() {
		spec.Rules = append(spec.Rules, profile.Rule{Kind: profile.Protect, Path: root, Name: name})
	}
	p, err := profile.New(spec)
	if err != nil {
		b.Fatal(err)
	}
	var cache aftermath.Cache
	for b.Loop() {
		aftermath.Before(p, &cache)
	}
}
