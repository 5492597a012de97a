package aftermath

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A folder comes back with its mode, of which the umask takes nothing.
func TestFolderComesBackWithItsMode(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	at := filepath.Join(root, ".vscode")
	if err := (&trash{}).restore(root, at, entry{stamp: stamp{mode: unix.S_IFDIR | 0o777}}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(at); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("it came back as %v, %v", info.Mode(), err)
	}
}
