// Package jsonrpc reads JSON-RPC 2.0 (https://www.jsonrpc.org/specification), one message a line.
package jsonrpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Message is a message, or another object, by the names of its members. Names are case-sensitive.
type Message map[string]json.RawMessage

// Text is a member that is a text; "" where it is none.
func (m Message) Text(name string) (s string) {
	if json.Unmarshal(m[name], &s) != nil {
		return ""
	}
	return s
}

// Read decodes a message that every reader takes for the same: one object, without a name twice, on one line for a
// reader that takes a carriage return for a line's end. It fails for any other.
func Read(line []byte) (Message, error) {
	text := bytes.TrimSpace(line)
	switch {
	case bytes.HasPrefix(text, []byte("[")):
		return nil, errors.New("a batch: send each message on a line of its own")
	case !json.Valid(text):
		return nil, errors.New("not JSON")
	case !bytes.HasPrefix(text, []byte("{")):
		return nil, errors.New("not a JSON object")
	case bytes.ContainsRune(text, '\r'):
		return nil, errors.New("a carriage return within the message")
	}
	m := Message{}
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if m[name.(string)] != nil {
			return nil, fmt.Errorf("the name %q twice", name)
		}
		m[name.(string)] = value
	}
	return m, nil
}

// ErrLong is the error of a line with more bytes than it may have.
var ErrLong = errors.New("the message is too long")

// Lines calls do for each line of r until its end, or until do fails. Where a line has more than most bytes, do gets
// none of it and [ErrLong]; 0 is no limit.
func Lines(r io.Reader, most int, do func(line []byte, err error) error) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		var line []byte
		var long error
		var end error
		for {
			var part []byte
			part, end = in.ReadSlice('\n')
			if most > 0 && len(line)+len(part) > most {
				line, long = nil, ErrLong
			}
			if long == nil {
				line = append(line, part...)
			}
			if !errors.Is(end, bufio.ErrBufferFull) {
				break
			}
		}
		if len(line) > 0 || long != nil {
			if err := do(line, long); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(end, io.EOF):
			return nil
		case end != nil:
			return end
		}
	}
}
