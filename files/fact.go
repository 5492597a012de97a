package files

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Kind is the type of an entry.
type Kind string

const (
	Absent  Kind = "absent"
	File    Kind = "file"
	Dir     Kind = "dir"
	Symlink Kind = "symlink"
	Other   Kind = "other" // a device, FIFO or socket
)

// Fact describes the entry at one path of a request, as the worker found it.
type Fact struct {
	// Asked is the path as the request means it: absolute and clean.
	Asked string `json:"asked"`
	// Real is the path without symbolic links, absolute, as far as it exists, with the missing
	// names behind. For delete and move it is the link itself, not its target.
	Real string `json:"real"`
	// Missing counts the folders on the way that do not exist.
	Missing int    `json:"missing,omitempty"`
	Kind    Kind   `json:"kind"`
	Size    int64  `json:"size,omitempty"`
	Mode    uint32 `json:"mode,omitempty"`
	// Hash is that of a file's content, where the operation depends on it.
	Hash string `json:"hash,omitempty"`
	// Device and Inode identify the file.
	Device uint64 `json:"device,omitempty"`
	Inode  uint64 `json:"inode,omitempty"`
	// Holds names protected and hidden things below a folder that would be
	// moved or removed, relative to it; the first few.
	Holds []string `json:"holds,omitempty"`
}

// Facts are the basis of a judgement (R-AP-02): a decision is bound to this snapshot, which is
// compared again before the effect.
type Facts struct {
	Path Fact  `json:"path"`
	To   *Fact `json:"to,omitempty"`
	// NewHash is that of the content after the change.
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

// Sum returns the hash of a content for facts, results and preconditions: "sha256:" and hexadecimal
// digits.
func Sum(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}
