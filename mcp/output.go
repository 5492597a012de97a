package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// output writes messages, one a call. The protocol's library names Go's types in errors about a request's params.
type output struct{ io.Writer }

func (o output) Write(line []byte) (int, error) {
	var m map[string]json.RawMessage
	var e struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	if !bytes.Contains(line, []byte("json: cannot unmarshal")) || json.Unmarshal(line, &m) != nil ||
		json.Unmarshal(m["error"], &e) != nil {
		return o.Writer.Write(line)
	}
	request, _, _ := strings.Cut(e.Message, "unmarshaling ")
	e.Code, e.Message = -32602, request+"the params do not have the protocol's form" // Invalid params, JSON-RPC 2.0 §5.1
	text, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	m["error"] = text
	if text, err = json.Marshal(m); err != nil {
		return 0, err
	}
	_, err = o.Writer.Write(append(text, '\n'))
	return len(line), err
}

func (output) Close() error { return nil }
