package ipc

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// RPCID is a call's id as its client wrote it: a number or a string.
type RPCID struct{ json.RawMessage }

func (id RPCID) key() string { return string(id.RawMessage) }

// RPCAny is an answer or an event, as JSON.
type RPCAny struct{ json.RawMessage }

// RPCCall is a client's message on the WebSocket: a JSON-RPC 2.0 request. Params holds, in one
// object, the operation's input from path, query and body, and may hold the session's secret
// besides.
type RPCCall struct {
	JSONRPC string          `json:"jsonrpc"`          // "2.0"
	ID      RPCID           `json:"id,omitzero"`      // a number or a string; only rpc.cancel may go without
	Method  string          `json:"method"`           // an operation's name, or "rpc.cancel"
	Params  json.RawMessage `json:"params,omitempty"` // an object
}

// RPCReply answers a call: either Result or Error is there. That of a stream
// comes after its last value.
type RPCReply struct {
	JSONRPC string    `json:"jsonrpc"`
	ID      RPCID     `json:"id"`
	Result  RPCAny    `json:"result,omitzero"` // the operation's answer over HTTP
	Error   *RPCError `json:"error,omitempty"`
}

// RPCError is a refusal in JSON-RPC's form.
type RPCError struct {
	Code    int    `json:"code"` // JSON-RPC's own: -32700, -32600, -32601, -32602, -32603, else -32000
	Message string `json:"message"`
	Data    *Error `json:"data"` // the same as everywhere
}

// RPCValue is a notification: one value of a stream.
type RPCValue struct {
	JSONRPC string         `json:"jsonrpc"`
	Method  string         `json:"method"` // as in the call: "exec.run", "exec.events" or "events"
	Params  RPCValueParams `json:"params"`
}

// RPCValueParams are an RPCValue's.
type RPCValueParams struct {
	Call  RPCID  `json:"call"`  // the id of the call that asked for the stream
	Value RPCAny `json:"value"` // an Event or a News
}

// JSON-RPC 2.0 §5.1.
const (
	rpcParse    = -32700
	rpcInvalid  = -32600
	rpcMethod   = -32601
	rpcParams   = -32602
	rpcInternal = -32603
	rpcServer   = -32000
)

// rpcCancel ends a call that is in flight. Names that begin with "rpc." are
// for extensions like this one (§8).
const rpcCancel = "rpc.cancel"

// maxID bounds a call's id, in bytes: every value repeats it.
const maxID = 256

// rpcError gives an error its number.
func rpcError(number int, e *Error) *RPCError {
	if number == rpcServer {
		switch e.Code {
		case CodeBadRequest, CodeUnknownField:
			number = rpcParams
		case CodeInternal:
			number = rpcInternal
		}
	}
	return &RPCError{Code: number, Message: e.Message, Data: e}
}

// readCall reads a message. Where it is no call, the number says of which
// kind the error is, and the call has the id if there is one.
func readCall(message []byte) (RPCCall, int, *Error) {
	if _, err := scanObject(message, nil); err != nil {
		if json.Valid(message) && utf8.Valid(message) {
			return RPCCall{}, rpcInvalid, badRequest(strings.Replace(err.Error(), "body", "message", 1))
		}
		return RPCCall{}, rpcParse, badRequest(strings.Replace(err.Error(), "body", "message", 1))
	}
	// Into a map first: encoding/json would take "ID" for "id".
	var members map[string]json.RawMessage
	if err := json.Unmarshal(message, &members); err != nil {
		return RPCCall{}, rpcParse, badRequest(err.Error())
	}
	var c RPCCall
	if id, ok := members["id"]; ok {
		if len(id) > maxID || id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9') {
			return c, rpcInvalid, badRequest(fmt.Sprintf("id: want a number or a string of at most %d bytes", maxID))
		}
		c.ID.RawMessage = id
	}
	if json.Unmarshal(members["jsonrpc"], &c.JSONRPC) != nil || c.JSONRPC != "2.0" {
		return c, rpcInvalid, badRequest(`jsonrpc: want "2.0"`)
	}
	if json.Unmarshal(members["method"], &c.Method) != nil || c.Method == "" {
		return c, rpcInvalid, badRequest("method: want an operation's name")
	}
	if c.Params = members["params"]; c.Params == nil {
		c.Params = json.RawMessage("{}")
	}
	if c.Params[0] != '{' {
		return c, rpcParams, badRequest("params: want an object")
	}
	return c, 0, nil
}

// request is the HTTP request that means the same as a call of r with these
// params, and the secret among them.
func (r Route) request(ctx context.Context, params json.RawMessage) (*http.Request, Secret, *Error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(params, &members); err != nil {
		return nil, "", badRequest("params: " + explain(err))
	}
	req := (&http.Request{Method: r.Method, URL: &url.URL{Path: r.Path}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Pattern: r.Method + " " + r.Path}).WithContext(ctx)
	var secret Secret
	for name, target := range map[string]func(string){
		"secret": func(v string) { secret = Secret(v) },
		"{id}":   func(v string) { req.SetPathValue("id", v) },
		"{op}":   func(v string) { req.SetPathValue("op", v) },
	} {
		key := strings.Trim(name, "{}")
		inPath := key != name
		if inPath && !strings.Contains(r.Path, name) {
			continue
		}
		v, bad := takeString(members, key)
		if bad != nil {
			return nil, "", bad
		}
		if inPath && v == "" {
			return nil, "", badRequest(key + " is missing")
		}
		target(v)
	}
	switch {
	case r.raw:
		data, bad := takeBytes(members, "data")
		if bad != nil {
			return nil, "", bad
		}
		setBody(req, data)
		fallthrough
	case r.read != nil:
		q, bad := queryOf(members)
		if bad != nil {
			return nil, "", bad
		}
		req.URL.RawQuery = q.Encode()
	default:
		setBody(req, encode(members))
	}
	return req, secret, nil
}

func setBody(req *http.Request, body []byte) {
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
}

// takeString takes a string out of members; "" where there is none.
func takeString(members map[string]json.RawMessage, name string) (string, *Error) {
	raw, ok := members[name]
	if !ok {
		return "", nil
	}
	delete(members, name)
	var v *string
	if json.Unmarshal(raw, &v) != nil || v == nil {
		return "", badRequest(name + ": want a string")
	}
	return *v, nil
}

// takeBytes takes base64 out of members.
func takeBytes(members map[string]json.RawMessage, name string) ([]byte, *Error) {
	v, bad := takeString(members, name)
	if bad != nil {
		return nil, bad
	}
	b, err := base64.StdEncoding.DecodeString(v)
	if err != nil {
		return nil, badRequest(name + ": want base64")
	}
	return b, nil
}

// queryOf writes members as a query.
func queryOf(members map[string]json.RawMessage) (url.Values, *Error) {
	q := url.Values{}
	for name, raw := range members {
		switch raw[0] {
		case '"':
			v, bad := takeString(members, name)
			if bad != nil {
				return nil, bad
			}
			q.Set(name, v)
		case '{', '[':
			return nil, badRequest(name + ": want a string, a number, true or false")
		case 'n': // null is absent
		default:
			q.Set(name, string(raw))
		}
	}
	return q, nil
}
