package layer

import (
	"fmt"
	"path"
	"testing"

	"sandboxd/git"
)

// through reads a tree through a host: kind, mode, content and target of each path, and the times of files.
func through(t testing.TB, h git.Host, root string) map[string]string {
	out := map[string]string{}
	var walk func(name string)
	walk = func(name string) {
		info, err := h.Lstat(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		text := info.Mode().String()
		switch {
		case info.IsDir():
			list, err := h.ReadDir(name)
			text += fmt.Sprint(err)
			for _, e := range list {
				walk(path.Join(name, e.Name()))
			}
		case info.Mode().IsRegular():
			content, err := h.ReadFile(name, 1<<23)
			end, aerr := h.ReadAt(name, info.Size()/2, 16)
			text += fmt.Sprintf("%d %v %q %v %q %v", info.Size(), info.ModTime().UnixNano(), content, err, end, aerr)
		default:
			to, err := h.Readlink(name)
			text += fmt.Sprintf("%q %v", to, err)
		}
		out[name] = text
	}
	walk(root)
	return out
}

// all chooses every part.
func all(int) bool { return true }
