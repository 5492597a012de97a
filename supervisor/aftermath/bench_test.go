package aftermath_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sandboxd/profile"
	"sandboxd/supervisor/aftermath"
	"sandboxd/watch"
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
	for _, name := range profile.ProtectedNames(profile.Executed) {
		spec.Rules = append(spec.Rules, profile.Rule{Kind: profile.Protect, Path: root, Name: name})
	}
	p, err := profile.New(spec)
	if err != nil {
		b.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // the tree is settled
	for _, c := range []struct {
		name  string
		watch *watch.Set
	}{{"watched", watch.New()}, {"asked", nil}} {
		b.Run(c.name, func(b *testing.B) {
			cache := aftermath.Cache{Watch: c.watch}
			aftermath.Before(p, &cache, "").Done()
			for b.Loop() {
				aftermath.Before(p, &cache, "").Done()
			}
		})
	}
}

// BenchmarkNote is what the note of a run costs that begins with what the last one
// began with: 50 protected files of 1 KiB.
func BenchmarkNote(b *testing.B) {
	dir, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	root := filepath.Join(dir, "p")
	for i := range 50 {
		at := filepath.Join(root, fmt.Sprint("d", i))
		if err := os.MkdirAll(at, 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, "AGENTS.md"), make([]byte, 1<<10), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	p, err := profile.New(profile.Spec{Rules: []profile.Rule{{Kind: profile.Allow, Access: profile.Read | profile.Write,
		Path: root},
		{Kind: profile.Protect, Path: root, Name: "AGENTS.md"}}})
	if err != nil {
		b.Fatal(err)
	}
	notes, err := aftermath.OpenNotes(filepath.Join(dir, "running"))
	if err != nil {
		b.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // the tree is settled
	var cache aftermath.Cache
	aftermath.Before(p, &cache, "")
	before := aftermath.Before(p, &cache, "")
	for i := 0; b.Loop(); i++ {
		note, err := notes.Begin(aftermath.Begun{Exec: fmt.Sprint("x-", i), Start: time.Now()}, before)
		if err != nil {
			b.Fatal(err)
		}
		note.First(1)
		if err := note.End(); err != nil {
			b.Fatal(err)
		}
	}
}
