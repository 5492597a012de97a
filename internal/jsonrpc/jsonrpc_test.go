package jsonrpc_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"sandboxd/internal/jsonrpc"
)

// Read refuses each message that two readers may take for different ones.
func TestRead(t *testing.T) {
	for in, want := range map[string]string{
		`{"id":1,"method":"a"}` + "\n":    "",
		" {\"id\" : 1}\t\r\n":             "",
		`{"text":"half \ud83d"}`:          "",
		`{"a":{"b":1,"b":2}}`:             "",
		`[{"id":1}]`:                      "a batch",
		`{"id":1`:                         "not JSON",
		`{"id":NaN}`:                      "not JSON",
		`{"id":1} {"id":2}`:               "not JSON",
		`7`:                               "not a JSON object",
		"":                                "not JSON",
		"{\"a\":\r{\"id\":1}\r}":          "a carriage return",
		`{"method":"a","method":"b"}`:     `"method" twice`,
		`{"method":"a","\u006dethod":""}`: `"method" twice`,
	} {
		_, err := jsonrpc.Read([]byte(in))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", in, err, want)
		}
	}
}

// Lines passes over what is too long, and no more.
func TestLines(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	var got []string
	err := jsonrpc.Lines(strings.NewReader("one\n"+long+"\n\ntwo"), 100, func(line []byte, err error) error {
		if errors.Is(err, jsonrpc.ErrLong) {
			line = []byte("long")
		}
		got = append(got, string(line))
		return nil
	})
	if want := []string{"one\n", "long", "\n", "two"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	var all int
	jsonrpc.Lines(strings.NewReader(long), 0, func(line []byte, err error) error { all += len(line); return err })
	if all != len(long) {
		t.Errorf("without a limit: %d bytes, want %d", all, len(long))
	}
}
