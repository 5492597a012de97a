package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sandboxd/display"
	"sandboxd/ipc"
)

// shown is the backend for the page: every text in its answers passes package display, including an
// agent's (R-UX-05).
type shown struct{ *remote }

func (b *shown) Status(ctx context.Context, c ipc.Caller) (ipc.Status, error) {
	return made(b.remote.Status(ctx, c))
}

func (b *shown) Sessions(ctx context.Context, c ipc.Caller) (ipc.SessionList, error) {
	return made(b.remote.Sessions(ctx, c))
}

func (b *shown) Jobs(ctx context.Context, c ipc.Caller) (ipc.JobList, error) {
	return made(b.remote.Jobs(ctx, c))
}

func (b *shown) Job(ctx context.Context, c ipc.Caller, r ipc.JobRequest) (ipc.Job, error) {
	return made(b.remote.Job(ctx, c, r))
}

func (b *shown) StopJob(ctx context.Context, c ipc.Caller, r ipc.JobRequest) (ipc.Job, error) {
	return made(b.remote.StopJob(ctx, c, r))
}

func (b *shown) Approvals(ctx context.Context, c ipc.Caller) (ipc.ApprovalList, error) {
	return made(b.remote.Approvals(ctx, c))
}

func (b *shown) Approval(ctx context.Context, c ipc.Caller, r ipc.ApprovalRequest) (ipc.Approval, error) {
	return made(b.remote.Approval(ctx, c, r))
}

func (b *shown) Decide(ctx context.Context, c ipc.Caller, a ipc.Answer) (ipc.Decided, error) {
	return made(b.remote.Decide(ctx, c, a))
}

func (b *shown) Grants(ctx context.Context, c ipc.Caller) (ipc.GrantList, error) {
	return made(b.remote.Grants(ctx, c))
}

func (b *shown) Grant(ctx context.Context, c ipc.Caller, r ipc.GrantRequest) (ipc.Grant, error) {
	return made(b.remote.Grant(ctx, c, r))
}

func (b *shown) Stats(ctx context.Context, c ipc.Caller) (ipc.Stats, error) {
	return made(b.remote.Stats(ctx, c))
}

func (b *shown) Advice(ctx context.Context, c ipc.Caller) (ipc.Advice, error) {
	return made(b.remote.Advice(ctx, c))
}

func (b *shown) Audit(ctx context.Context, c ipc.Caller, r ipc.AuditRequest) (ipc.AuditPage, error) {
	return made(b.remote.Audit(ctx, c, r))
}

func (b *shown) Doctor(ctx context.Context, c ipc.Caller, r ipc.DoctorRequest) (ipc.Doctor, error) {
	return made(b.remote.Doctor(ctx, c, r))
}

func (b *shown) Profile(ctx context.Context, c ipc.Caller, r ipc.ProfileRequest) (ipc.Profile, error) {
	return made(b.remote.Profile(ctx, c, r))
}

func (b *shown) HeldChanges(ctx context.Context, c ipc.Caller, r ipc.HeldRequest) (ipc.HeldChanges, error) {
	return made(b.remote.HeldChanges(ctx, c, r))
}

func (b *shown) HeldChange(ctx context.Context, c ipc.Caller, r ipc.HeldRequest) (ipc.HeldChange, error) {
	return made(b.remote.HeldChange(ctx, c, r))
}

// Land takes the paths as HeldChange shows them.
func (b *shown) Land(ctx context.Context, c ipc.Caller, r ipc.LandRequest) (ipc.FileResult, error) {
	if len(r.Paths) > 0 {
		h, err := b.remote.HeldChange(ctx, c, ipc.HeldRequest{Session: r.Session, ID: r.ID})
		if err != nil {
			return ipc.FileResult{}, err
		}
		if r.Paths, err = pathsShown(h, r.Paths); err != nil {
			return ipc.FileResult{}, err
		}
	}
	return made(b.remote.Land(ctx, c, r))
}

func (b *shown) File(ctx context.Context, c ipc.Caller, r ipc.FileRequest) (ipc.FileResult, error) {
	return made(b.remote.File(ctx, c, r))
}

// pathsShown returns the paths of a held change set that are shown as these.
func pathsShown(h ipc.HeldChange, shown []string) (paths []string, err error) {
	for _, want := range shown {
		var found []string
		for _, f := range h.Files {
			if safeField(f.Path, "Path") == want && !slices.Contains(found, f.Path) {
				found = append(found, f.Path)
			}
		}
		if len(found) != 1 {
			return nil, &ipc.Error{Code: ipc.CodeBadRequest,
				Message: fmt.Sprintf("%s: %d paths look like this", want, len(found)),
				Hint:    "land them in a terminal: sbx changes land " + h.ID}
		}
		paths = append(paths, found[0])
	}
	return paths, nil
}

func (b *shown) Trusted(ctx context.Context, c ipc.Caller) (ipc.TrustList, error) {
	return made(b.remote.Trusted(ctx, c))
}

func (b *shown) News(ctx context.Context, c ipc.Caller, r ipc.NewsRequest) (ipc.Stream[ipc.News], error) {
	return safely(b.remote.News(ctx, c, r))
}

func (b *shown) ExecEvents(ctx context.Context, c ipc.Caller, r ipc.EventsRequest) (ipc.Stream[ipc.Event], error) {
	r.Watch = true // a page that nobody looks at holds no command up
	return safely(b.remote.ExecEvents(ctx, c, r))
}

// safeStream is a stream whose texts are safe.
type safeStream[T any] struct{ ipc.Stream[T] }

func safely[T any](s ipc.Stream[T], err error) (ipc.Stream[T], error) {
	if err != nil {
		return nil, err
	}
	return safeStream[T]{s}, nil
}

func (s safeStream[T]) Next(ctx context.Context) (T, error) {
	return made(s.Stream.Next(ctx))
}

// made is an answer whose texts are safe.
func made[T any](v T, err error) (T, error) { return safe(v), err }

// safe is a copy of v with every text made safe; v, which may share memory with
// the daemon, stays as it is.
func safe[T any](v T) T {
	return safeValue(reflect.ValueOf(v), "").Interface().(T)
}

var (
	rawMessage = reflect.TypeFor[json.RawMessage]()
	bytesType  = reflect.TypeFor[[]byte]()
)

func safeValue(v reflect.Value, field string) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		out.SetString(safeField(v.String(), field))
	case reflect.Struct:
		out.Set(v) // no exported fields, such as time.Time
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				out.Field(i).Set(safeValue(v.Field(i), f.Name))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(safeValue(v.Elem(), field))
		}
	case reflect.Slice:
		switch {
		case v.IsNil():
		case v.Type() == rawMessage:
			out.SetBytes(safeJSON(v.Bytes()))
		case v.Type() == bytesType:
			out.SetBytes([]byte(safeText(string(v.Bytes()))))
		default:
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(safeValue(v.Index(i), field))
			}
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
			for k, x := range v.Seq2() {
				out.SetMapIndex(safeValue(k, field), safeValue(x, field))
			}
		}
	default:
		out.Set(v)
	}
	return out
}

// blocks are the fields that the page shows with their lines.
var blocks = map[string]bool{"Command": true, "Content": true, "Text": true, "Diff": true}

func safeField(s, field string) string {
	if blocks[field] {
		return safeText(s)
	}
	return display.Line(s)
}

// safeText keeps the lines of a text that has any.
func safeText(s string) string {
	if !strings.ContainsAny(s, "\n\t") {
		return display.Line(s)
	}
	end := ""
	if strings.HasSuffix(s, "\n") {
		end = "\n"
	}
	return strings.Join(display.Block(s), "\n") + end
}

// safeJSON makes every string in a JSON value safe, keys included.
func safeJSON(raw []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return []byte("null")
	}
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(safeAny(v)); err != nil {
		return []byte("null")
	}
	return bytes.TrimSpace(buf.Bytes())
}

func safeAny(v any) any {
	switch v := v.(type) {
	case string:
		return safeText(v)
	case []any:
		for i := range v {
			v[i] = safeAny(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[safeText(k)] = safeAny(x)
		}
		return out
	}
	return v
}
