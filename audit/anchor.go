package audit

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Anchor is a place in a chain. Stored out of reach of the log's writers, it proves that nothing up
// to that place was changed since.
type Anchor struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"` // 64 hexadecimal digits
}

// ParseAnchor reads SEQ:HASH.
func ParseAnchor(text string) (Anchor, error) {
	seq, hash, ok := strings.Cut(text, ":")
	n, err := strconv.ParseUint(seq, 10, 64)
	if !ok || err != nil || len(hash) != 64 || strings.Trim(hash, "0123456789abcdef") != "" {
		return Anchor{}, errors.New("want SEQ:HASH with 64 hexadecimal digits")
	}
	return Anchor{Seq: n, Hash: hash}, nil
}

func (a Anchor) String() string { return fmt.Sprintf("%d:%s", a.Seq, a.Hash) }

// Line is how an anchor is kept: "TIME SEQ:HASH".
func (a Anchor) Line(at time.Time) string { return at.UTC().Format(time.RFC3339) + " " + a.String() }

// SignedLine returns "TIME UID SIGNATURE SEQ:HASH", the anchor of a user's log signed with key.
// Only the owner of the key can have written the line, wherever it is stored.
func (a Anchor) SignedLine(at time.Time, uid int, key ed25519.PrivateKey) string {
	when, who := at.UTC().Format(time.RFC3339), strconv.Itoa(uid)
	sig := ed25519.Sign(key, signedText(when, who, a.String()))
	return strings.Join([]string{when, who, base64.RawURLEncoding.EncodeToString(sig), a.String()}, " ")
}

// signedText returns the bytes that the signature covers.
func signedText(when, uid, anchor string) []byte {
	return []byte("sandboxd: head of a log\n" + when + " " + uid + " " + anchor)
}

// SignedBy reports whether a line is one that the owner of the key wrote.
func SignedBy(line string, key ed25519.PublicKey) bool {
	words := strings.Fields(line)
	if len(words) != 4 {
		return false
	}
	sig, err := base64.RawURLEncoding.DecodeString(words[2])
	return err == nil && ed25519.Verify(key, signedText(words[0], words[1], words[3]), sig)
}
