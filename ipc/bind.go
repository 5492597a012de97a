package ipc

import (
	"context"
	"io"
	"net/http"
	"reflect"
)

// method is how a Backend's method with a request looks as a function.
type method[Req, Resp any] = func(Backend, context.Context, Caller, Req) (Resp, error)

// plain serves a method without a request.
func plain[Resp any](f func(Backend, context.Context, Caller) (Resp, error)) handler {
	return handler{
		out: reflect.TypeFor[Resp](),
		serve: func(x *exchange) {
			resp, err := f(x.backend, x.r.Context(), x.caller)
			answer(x, http.StatusOK, resp, err)
		},
	}
}

// query serves a method whose request is in the path and the query.
func query[Req, Resp any](f method[Req, Resp], read func(params) Req) handler {
	return handler{
		out:  reflect.TypeFor[Resp](),
		read: func(q params) { read(q) },
		serve: func(x *exchange) {
			req, bad := readQuery(x, read)
			if bad != nil {
				x.refuse(bad)
				return
			}
			resp, err := f(x.backend, x.r.Context(), x.caller, req)
			answer(x, http.StatusOK, resp, err)
		},
	}
}

// streamed serves a method that yields a stream, which send puts on the wire.
func streamed[Req, T any](f method[Req, Stream[T]], read func(params) Req, media string,
	send func(*exchange, Stream[T])) handler {
	h := streaming(func(x *exchange) (Stream[T], error) {
		req, bad := readQuery(x, read)
		if bad != nil {
			return nil, bad
		}
		return f(x.backend, x.r.Context(), x.caller, req)
	}, media, send)
	h.read = func(q params) { read(q) }
	return h
}

// opened is streamed for a request whose body names a first operation; place is as in body.
func opened[Req, T any](f func(*exchange, Req) (Stream[T], error), place func(*exchange, *Req) *Error, media string,
	send func(*exchange, Stream[T])) handler {
	h := streaming(func(x *exchange) (Stream[T], error) {
		req, bad := readRequest(x, place, x.limits.Body)
		if bad != nil {
			return nil, bad
		}
		return f(x, req)
	}, media, send)
	h.in = reflect.TypeFor[Req]()
	return h
}

// streaming serves the stream of open. Nothing has been sent when open fails.
func streaming[T any](open func(*exchange) (Stream[T], error), media string, send func(*exchange, Stream[T])) handler {
	return handler{
		out:    reflect.TypeFor[T](),
		stream: media,
		serve: func(x *exchange) {
			s, err := open(x)
			if err != nil {
				x.refuse(x.asError(err))
				return
			}
			send(x, s)
		},
		follow: func(x *exchange, put func([]byte) error) *Error {
			s, err := open(x)
			if err != nil {
				return x.asError(err)
			}
			return pass(x, s, put)
		},
	}
}

// pass puts each value of a stream until it ends.
func pass[T any](x *exchange, s Stream[T], put func([]byte) error) *Error {
	defer s.Close()
	ctx := x.r.Context()
	for {
		v, err := s.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return cancelled
		case err == io.EOF:
			return nil
		case err != nil:
			return x.asError(err)
		}
		if put(encode(v)) != nil {
			return cancelled
		}
	}
}

// body serves a method whose request is the body; place, which may be nil, adds other parts of the
// HTTP request to it, or refuses.
func body[Req, Resp any](f method[Req, Resp], place func(*exchange, *Req) *Error) handler {
	return handler{
		in:  reflect.TypeFor[Req](),
		out: reflect.TypeFor[Resp](),
		serve: func(x *exchange) {
			serveBody(x, f, place, x.limits.Body, http.StatusOK)
		},
	}
}

// created is body for methods that answer 201.
func created[Req, Resp any](f method[Req, Resp], place func(*exchange, *Req) *Error) handler {
	h := body(f, place)
	h.status = http.StatusCreated
	h.serve = func(x *exchange) { serveBody(x, f, place, x.limits.Body, http.StatusCreated) }
	return h
}

// large is body for methods whose request may hold files.
func large[Req, Resp any](f method[Req, Resp], place func(*exchange, *Req) *Error) handler {
	h := body(f, place)
	h.serve = func(x *exchange) { serveBody(x, f, place, x.limits.FileBody, http.StatusOK) }
	return h
}

func serveBody[Req, Resp any](x *exchange, f method[Req, Resp], place func(*exchange, *Req) *Error, limit int64,
	status int) {
	req, bad := readRequest(x, place, limit)
	if bad != nil {
		x.refuse(bad)
		return
	}
	resp, err := f(x.backend, x.r.Context(), x.caller, req)
	answer(x, status, resp, err)
}

// readRequest reads a request from the body; place is as in body.
func readRequest[Req any](x *exchange, place func(*exchange, *Req) *Error, limit int64) (req Req, bad *Error) {
	raw, bad := x.readBody(limit)
	if bad == nil {
		req, bad = decode[Req](raw)
	}
	if bad == nil && place != nil {
		bad = place(x, &req)
	}
	return req, bad
}

// byID is place for a request whose path names an object.
func byID[Req any](field func(*Req) *string) func(*exchange, *Req) *Error {
	return func(x *exchange, req *Req) *Error {
		id, bad := readQuery(x, params.id)
		*field(req) = id
		return bad
	}
}

// done turns a method that only succeeds or fails into one that answers Done.
func done[Req any](f func(Backend, context.Context, Caller, Req) error) method[Req, Done] {
	return func(b Backend, ctx context.Context, c Caller, req Req) (Done, error) {
		err := f(b, ctx, c, req)
		return Done{OK: err == nil}, err
	}
}
