package profile

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// Digest identifies a profile: equal exactly for equal profiles.
type Digest [sha256.Size]byte

// String returns "sha256:" and the digest in hexadecimal.
func (d Digest) String() string { return "sha256:" + hex.EncodeToString(d[:]) }

// MarshalText returns [Digest.String].
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the output of [Digest.String].
func (d *Digest) UnmarshalText(text []byte) error {
	raw, ok := strings.CutPrefix(string(text), "sha256:")
	b, err := hex.DecodeString(raw)
	if !ok || err != nil || len(b) != len(d) {
		return fmt.Errorf("profile digest %q: not sha256: and 64 hexadecimal digits", text)
	}
	copy(d[:], b)
	return nil
}

// Digest returns the digest of the normal form.
func (p Profile) Digest() Digest { return p.get().digest }

// Equal reports whether p and q have the same normal form. They then allow
// the same at every path and the same can be granted to them later; the
// opposite holds for path rules, while two names count as the same only if
// they are spelled the same ("[a]" is not "a"). Whether two profiles allow
// the same however they are spelled is p.Within(q) && q.Within(p).
func (p Profile) Equal(q Profile) bool { return p.Digest() == q.Digest() }

type encoder struct{ b []byte }

func (e *encoder) number(n int64) { e.b = binary.BigEndian.AppendUint64(e.b, uint64(n)) }

func (e *encoder) text(s string) {
	e.number(int64(len(s)))
	e.b = append(e.b, s...)
}

func (e *encoder) texts(list []string) {
	e.number(int64(len(list)))
	for _, s := range list {
		e.text(s)
	}
}

func (e *encoder) rules(rules []Rule) {
	e.number(int64(len(rules)))
	for _, r := range rules {
		e.number(int64(r.Kind))
		e.number(int64(r.Access))
		e.text(r.Path)
		e.text(r.Name)
	}
}

// sum hashes every field with its length in front, so that no two normal
// forms are written alike.
func (b *body) sum() Digest {
	var e encoder
	e.text("sandboxd profile 1")
	e.rules(b.turns)
	e.rules(b.nameRules())
	e.rules(b.guards)
	e.number(int64(b.network.Mode))
	e.number(int64(len(b.network.Hosts)))
	for _, h := range b.network.Hosts {
		e.text(h.Host)
		e.number(int64(h.Port))
	}
	e.number(int64(len(b.network.Listen)))
	for _, port := range b.network.Listen {
		e.number(int64(port))
	}
	e.number(int64(bit(b.network.ListenAny)))
	e.texts(b.sockets)
	e.texts(b.env.Pass)
	e.texts(b.env.Block)
	e.number(int64(bit(b.env.PassSecrets)))
	e.number(int64(len(b.env.Set)))
	for _, name := range sortedKeys(b.env.Set) {
		e.text(name)
		e.text(b.env.Set[name])
	}
	for _, f := range b.limits.fields() {
		e.number(f.value)
	}
	e.number(int64(len(b.syscalls)))
	for _, g := range b.syscalls {
		e.text(string(g))
	}
	e.number(int64(b.processes))
	return sha256.Sum256(e.b)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
