package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// hashKey separates the hashed bytes from the hash.
const hashKey = `,"hash":"`

// zeroHash is the prev of the first record.
var zeroHash = strings.Repeat("0", sha256.Size*2)

// seal makes the line of a record: seq, prev, the record's own JSON object,
// hash, and the line end. It returns the hash too.
func seal(seq uint64, prev string, object []byte) (line []byte, hash string) {
	line = make([]byte, 0, len(object)+len(prev)+len(hashKey)+sha256.Size*2+40)
	line = append(line, `{"seq":`...)
	line = strconv.AppendUint(line, seq, 10)
	line = append(line, `,"prev":"`...)
	line = append(line, prev...)
	line = append(line, `",`...)
	line = append(line, object[1:len(object)-1]...) // never empty: it has a time
	sum := sha256.Sum256(line)
	hash = hex.EncodeToString(sum[:])
	line = append(line, hashKey...)
	line = append(line, hash...)
	return append(line, '"', '}', '\n'), hash
}

// unseal checks a line (without its end) by itself: the form, and the hash. It
// does not look at the record.
func unseal(line []byte) (e Entry, err error) {
	i := len(line) - len(hashKey) - sha256.Size*2 - len(`"}`)
	if i < 0 || string(line[i:i+len(hashKey)]) != hashKey || string(line[len(line)-2:]) != `"}` {
		return e, errors.New("it does not end with a hash")
	}
	e.Hash = string(line[i+len(hashKey) : len(line)-2])
	sum := sha256.Sum256(line[:i])
	if hex.EncodeToString(sum[:]) != e.Hash {
		return e, errors.New("its hash is not that of its content")
	}
	rest, ok := bytes.CutPrefix(line, []byte(`{"seq":`))
	if !ok {
		return e, errors.New("it does not begin with seq")
	}
	digits, rest, ok := bytes.Cut(rest, []byte(`,"prev":"`))
	if !ok || len(rest) < sha256.Size*2 {
		return e, errors.New("it has no prev")
	}
	if e.Seq, err = strconv.ParseUint(string(digits), 10, 64); err != nil {
		return e, errors.New("its seq is not a number")
	}
	e.Prev = string(rest[:sha256.Size*2])
	e.Raw = line
	return e, nil
}

// open decodes the record of an entry.
func (e *Entry) open() error {
	if err := json.Unmarshal(e.Raw, &e.Record); err != nil {
		return fmt.Errorf("it is not a record: %w", err)
	}
	return nil
}

// encodeRecord makes a record's JSON object of at most limit bytes.
func encodeRecord(r Record, exclude []string, limit int) ([]byte, error) {
	if len(r.Input) > 0 {
		input, err := withoutKeys(r.Input, slices.Concat(exclude, r.Exclude))
		if err != nil {
			return nil, fmt.Errorf("encode record: input: %w", err)
		}
		r.Input = input
	}
	b, err := marshal(r)
	if err != nil || len(b) <= limit {
		return b, err
	}
	return marshalShortened(r, limit)
}

// marshal is encoding/json without HTML escapes and with everything escaped that is
// not printable.
func marshal(r Record) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	return escape(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))), nil
}

// escape escapes the characters that JSON permits but a terminal or a reader could misread: DEL, C1
// controls, bidirectional overrides, invisible and unassigned characters. JSON has non-ASCII
// characters in strings only.
func escape(b []byte) []byte {
	if ascii(b) {
		return b
	}
	clean := func(r rune) bool { return r < 0x7f || unicode.IsPrint(r) && r != utf8.RuneError }
	if bytes.IndexFunc(b, func(r rune) bool { return !clean(r) }) < 0 {
		return b
	}
	out := make([]byte, 0, len(b)+64)
	for _, r := range string(b) {
		switch {
		case clean(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// ascii reports whether there is nothing in b that escape could change.
func ascii(b []byte) bool {
	for _, c := range b {
		if c >= 0x7f {
			return false
		}
	}
	return true
}

// withoutKeys drops every member of that name, at any depth, and returns the rest with its keys
// sorted.
func withoutKeys(input json.RawMessage, names []string) (json.RawMessage, error) {
	v, err := decodeInput(input)
	if err != nil {
		return nil, err
	}
	drop(v, names)
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	err = e.Encode(v)
	return bytes.TrimSpace(buf.Bytes()), err
}

// decodeInput reads one JSON object. Numbers keep their text: 1.0 stays 1.0.
func decodeInput(input json.RawMessage) (v map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("something follows the JSON object")
	}
	return v, nil
}

func drop(v any, names []string) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			if slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, k) }) {
				delete(v, k)
				continue
			}
			drop(inner, names)
		}
	case []any:
		for _, inner := range v {
			drop(inner, names)
		}
	}
}

// keep is how much of a long text stays in a shortened record.
const keep = 1024

// marshalShortened shortens long fields and adds the hash of each whole text, for comparison with a
// copy found elsewhere.
func marshalShortened(r Record, limit int) ([]byte, error) {
	r.Cut = map[string]string{}
	cut := func(name string, whole []byte) {
		sum := sha256.Sum256(whole)
		r.Cut[name] = fmt.Sprintf("%d bytes, sha256 %x", len(whole), sum)
	}
	if len(r.Input) > keep {
		cut("input", r.Input)
		r.Input = nil
	}
	for name, list := range map[string]*[]string{"argv": &r.Argv, "violations": &r.Violations, "gaps": &r.Gaps,
		"reasons": &r.Reasons, "limits": &r.Limits, "layers": &r.Layers} {
		whole, _ := json.Marshal(*list)
		if len(whole) > keep {
			cut(name, whole)
			*list = []string{short(string(whole))}
		}
	}
	for name, text := range map[string]*string{"subject": &r.Subject, "cwd": &r.Cwd, "reason": &r.Reason, "note": &r.Note,
		"key": &r.Key, "error": &r.Error, "rule": &r.Rule, "agent": &r.Agent, "call_id": &r.CallID, "by": &r.By,
		"tool": &r.Tool} {
		if len(*text) > keep {
			cut(name, []byte(*text))
			*text = short(*text)
		}
	}
	if whole, _ := json.Marshal(r.Network); len(whole) > 8*keep {
		cut("network", whole)
		r.Network = r.Network[:min(len(r.Network), 16)]
	}
	if whole, _ := json.Marshal(r.Detail); len(whole) > keep {
		cut("detail", whole)
		r.Detail = nil
	}
	b, err := marshal(r)
	if err == nil && len(b) > limit {
		return nil, fmt.Errorf("encode record: %d bytes, %d is the most", len(b), limit)
	}
	return b, err
}

// short is the beginning of s, whole characters only.
func short(s string) string {
	s = s[:min(len(s), keep)]
	for range utf8.UTFMax - 1 {
		if r, size := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || size != 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s + "…"
}
