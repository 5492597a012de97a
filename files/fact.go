package files

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Kind is what stands at a path.
type Kind string

const (
	Absent  Kind = "absent"
	File    Kind = "file"
	Dir     Kind = "dir"
	Symlink Kind = "symlink"
	Other   Kind = "other" // a device, FIFO or socket
)

// Fact is what one path of a request really is, as the worker found it.
type Fact struct {
	// Asked is the path as the request means it: absolute and clean.
	Asked string `json:"asked"`
	// Real is where it leads: absolute and free of symbolic links, as far as it
	// exists, with the missing names behind. For delete and move it is the link
	// itself, not what it points to.
	Real string `json:"real"`
	// Missing counts the folders on the way that do not exist.
	Missing int    `json:"missing,omitempty"`
	Kind    Kind   `json:"kind"`
	Size    int64  `json:"size,omitempty"`
	Mode    uint32 `json:"mode,omitempty"`
	// Hash is of a file's content, where the operation depends on it.
	Hash string `json:"hash,omitempty"`
	// Device and Inode tell that it is still the same file.
	Device uint64 `json:"device,omitempty"`
	Inode  uint64 `json:"inode,omitempty"`
	// Holds names protected and hidden things below a folder that would be
	// moved or removed, relative to it; the first few.
	Holds []string `json:"holds,omitempty"`
}

// Facts is what judging a request may rely on (R-AP-02): the snapshot that a
// decision is bound to, and that is compared again before the effect.
type Facts struct {
	Path Fact  `json:"path"`
	To   *Fact `json:"to,omitempty"`
	// NewHash is of the content that a change would leave.
	NewHash string `json:"new_hash,omitempty"`
	// Conflict is why the operation cannot succeed as things are; nobody needs
	// to be asked about it.
	Conflict *Conflict `json:"conflict,omitempty"`
}

// Digest implements approval.Facts.
func (f Facts) Digest() string {
	data, err := json.Marshal(f)
	if err != nil {
		return "" // only strings and numbers: it cannot fail
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Sum is the hash of a content as it stands in facts, results and
// preconditions: "sha256:" and hexadecimal digits.
func Sum(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}
