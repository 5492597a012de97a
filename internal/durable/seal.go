package durable

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// sealed begins an object that [Seal] returned.
const sealed = `{"sum":"`

// Seal puts the hash of a JSON object into it as its first member, so that [Unseal] finds damage that JSON's own
// syntax does not show: a changed letter of a path for example.
func Seal(object []byte) []byte {
	if !bytes.HasPrefix(object, []byte("{")) || bytes.Equal(object, []byte("{}")) {
		return object
	}
	sum := sha256.Sum256(object)
	return append([]byte(sealed+hex.EncodeToString(sum[:])+`",`), object[1:]...)
}

// Unseal returns the object of which Seal made data. Other data, of an earlier version, it returns as it is.
func Unseal(data []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(data, []byte(sealed))
	hash, rest, found := bytes.Cut(rest, []byte(`",`))
	if !ok || !found || len(hash) != hex.EncodedLen(sha256.Size) {
		return data, nil
	}
	object := append([]byte("{"), rest...)
	if sum := sha256.Sum256(object); hex.EncodeToString(sum[:]) != string(hash) {
		return nil, errors.New("its content is not the one that was written")
	}
	return object, nil
}
