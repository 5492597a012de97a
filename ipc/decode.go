package ipc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
)

// validator is a request that can report its own fault.
type validator interface{ validate() *Error }

// required is a request that is decoded strictly and must hold these keys.
type required interface{ required() []string }

// decode turns a body into a T: bounded, UTF-8, one object, no key twice, and
// where T is [required] no unknown key. An absent body is an empty object.
func decode[T any](body []byte) (T, *Error) {
	var v T
	strict, isStrict := any(v).(required)
	if len(bytes.TrimSpace(body)) == 0 && !isStrict {
		body = []byte("{}")
	}
	of := reflect.TypeFor[T]()
	if isStrict {
		of = nil // demand says it
	}
	members, err := scanObject(body, of)
	if err != nil {
		return v, badRequest(err.Error())
	}
	if isStrict {
		if err := demand(members, reflect.TypeFor[T](), strict.required()); err != nil {
			return v, err
		}
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return v, badRequest(explain(err))
	}
	if c, ok := any(v).(validator); ok {
		if err := c.validate(); err != nil {
			return v, err
		}
	}
	return v, nil
}

// demand compares the keys of an object with the fields of t, to the letter:
// encoding/json alone would take "ALLOW" for "allow".
func demand(members []member, t reflect.Type, must []string) *Error {
	known := fieldTypes(t)
	var keys []string
	for _, m := range members {
		k := m.key
		if keys = append(keys, k); m.null {
			return badRequest(fmt.Sprintf("field %q is null; nothing was decided", k))
		}
		if _, ok := known[k]; !ok {
			return &Error{
				Code:    CodeUnknownField,
				Message: fmt.Sprintf("unknown field %q; nothing was decided", k),
				Hint:    "known are " + strings.Join(slices.Sorted(maps.Keys(known)), ", "),
			}
		}
	}
	for _, k := range must {
		if !slices.Contains(keys, k) {
			return badRequest(fmt.Sprintf("field %q is missing; nothing was decided", k))
		}
	}
	return nil
}

// explain names the field of the wrong type, in JSON's words.
func explain(err error) string {
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) {
		return fmt.Sprintf("field %q: %s does not fit", t.Field, t.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

func badRequest(message string) *Error {
	return &Error{Code: CodeBadRequest, Message: message}
}

// readBody reads a request's body whole, within limit and within the peer's
// share of memory. release gives that back when the request is done.
func (x *exchange) readBody(limit int64) ([]byte, *Error) {
	if err := checkMedia(x.r); err != nil {
		return nil, err
	}
	if x.r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	rc := http.NewResponseController(x.ResponseWriter)
	// The deadline stays where this fails: it bounds the server's own attempt to read the rest of
	// the body.
	rc.SetReadDeadline(time.Now().Add(x.limits.Read))
	var buf bytes.Buffer
	chunk := int64(4096)
	for {
		if err := x.tally.buffer(x.caller.Peer, chunk); err != nil {
			return nil, err
		}
		x.buffered += chunk
		n, err := io.CopyN(&buf, x.r.Body, chunk)
		switch {
		case int64(buf.Len()) > limit:
			return nil, tooLarge(limit)
		case err == io.EOF:
			// Else the server's watch for a hang-up would run into it.
			rc.SetReadDeadline(time.Time{})
			return buf.Bytes(), nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			x.Header().Set("Connection", "close")
			return nil, &Error{Code: CodeBadRequest, Status: http.StatusRequestTimeout,
				Message: "the body did not arrive in time"}
		case err != nil:
			return nil, badRequest("read body: " + err.Error())
		}
		chunk = min(2*n, 256<<10)
	}
}

func tooLarge(limit int64) *Error {
	return &Error{Code: CodeTooLarge, Message: fmt.Sprintf("the body is larger than %d bytes", limit),
		Hint: "send less at once"}
}

// checkMedia refuses a Content-Type that is not JSON.
func checkMedia(r *http.Request) *Error {
	given := r.Header.Get("Content-Type")
	if given == "" {
		return nil
	}
	media, _, err := mime.ParseMediaType(given)
	if err != nil || media != "application/json" {
		return &Error{Code: CodeUnsupportedMedia, Message: fmt.Sprintf("the body's type is %q", given),
			Hint: "send Content-Type: application/json (curl: --json)"}
	}
	return nil
}
