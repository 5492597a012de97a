package layer_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sandboxd/layer"
)

// A command writes a file on an overlay; it lands after the judge agreed, and is undone.
func Example() {
	top, err := os.MkdirTemp("", "layer")
	try(err)
	defer os.RemoveAll(top)
	project, merged := filepath.Join(top, "project"), filepath.Join(top, "merged")
	try(os.Mkdir(project, 0o755))
	try(os.Mkdir(merged, 0o755))
	root, err := os.Open(project)
	try(err)
	defer root.Close()

	l, err := layer.New(filepath.Join(top, "run"), root)
	try(err)
	// The command, on the overlay, in a mount namespace of its own.
	script := `mount -t overlay -o "userxattr,lowerdir=$1,upperdir=$2,workdir=$3" overlay "$4" && echo text > "$4/new"`
	command := exec.Command(
		"unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", project, l.Upper(), l.Work(), merged,
	)
	command.Stderr = os.Stderr
	try(command.Run())
	try(l.Take(root))
	for _, c := range l.Set().Changes() {
		fmt.Printf("%q: from %q to %q\n", c.Path, c.Old.Kind, c.New.Kind)
	}
	judge := func(c layer.Change) error {
		if strings.HasPrefix(string(c.Path), ".git/") {
			return errors.New("only git writes to its directory")
		}
		return nil
	}
	landed := func() bool {
		_, err := os.Stat(filepath.Join(project, "new"))
		return err == nil
	}
	fmt.Println("before:", landed())
	try(l.Land(root, judge))
	fmt.Println("landed:", landed())
	try(l.Undo(root))
	fmt.Println("undone:", landed())
	// Output:
	// "new": from "" to "file"
	// before: false
	// landed: true
	// undone: false
}

func try(err error) {
	if err != nil {
		panic(err)
	}
}
