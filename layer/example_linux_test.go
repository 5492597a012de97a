package layer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A command writes a file on an overlay; it lands after the judge agreed, and is undone.
func Example() {
	top, err := os.MkdirTemp("", "layer")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(top)
	project, place, merged := filepath.Join(top, "project"), filepath.Join(top, "run"), filepath.Join(top, "merged")
	for _, dir := range []string{project, merged} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			panic(err)
		}
	}
	root, err := os.Open(project)
	if err != nil {
		panic(err)
	}
	defer root.Close()

	l, err := New(place, root)
	if err != nil {
		panic(err)
	}
	// The command, on the mounted overlay.
	err = order{
		Overlay: []string{project, l.Upper(), l.Work(), merged}, Dir: merged,
		Script: []step{{Do: "create", Path: "new", Mode: 0o644, Data: "text"}},
	}.command().Run()
	if err != nil {
		panic(err)
	}
	if err := l.Take(root); err != nil {
		panic(err)
	}
	for _, c := range l.Set().Changes() {
		fmt.Printf("%q: from %q to %q\n", c.Path, c.Old.Kind, c.New.Kind)
	}
	judge := func(c Change) error {
		if strings.HasPrefix(string(c.Path), ".git/") {
			return errors.New("only git writes to its directory")
		}
		return nil
	}
	_, err = os.Stat(filepath.Join(project, "new"))
	fmt.Println("before:", err == nil)
	if err := l.Land(root, judge); err != nil {
		panic(err)
	}
	_, err = os.Stat(filepath.Join(project, "new"))
	fmt.Println("landed:", err == nil)
	if err := l.Undo(root); err != nil {
		panic(err)
	}
	_, err = os.Stat(filepath.Join(project, "new"))
	fmt.Println("undone:", err == nil)
	// Output:
	// "new": from "" to "file"
	// before: false
	// landed: true
	// undone: false
}
