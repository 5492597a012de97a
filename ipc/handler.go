package ipc

import (
	"log/slog"
	"net/http"
	"sync"
)

// Handler serves the operations of one role to callers that its owner has
// identified: for a gateway, which takes its connections from elsewhere than a
// [Server]. Its fields are set before the first request and not changed afterwards.
type Handler struct {
	Backend Backend
	Role    Role
	Limits  Limits // the owner enforces Limits.Connections and the bounds on reading a header
	Log     *slog.Logger
	// Caller returns the caller of a request, or why it is refused. It must hold for the whole
	// connection: its opener makes all calls of a WebSocket.
	Caller func(*http.Request) (Caller, *Error)
	// Origins are those of web pages that may open a WebSocket, as a browser
	// writes them: "http://127.0.0.1:8080". A request without an Origin
	// comes from no web page. The other operations leave that to the owner.
	Origins []string
	// Ending is closed when the owner begins to end: then WebSockets close
	// as soon as they have no call in flight. Nil: never.
	Ending <-chan struct{}

	once     sync.Once
	endpoint *endpoint
}

// ServeHTTP answers one request; for a WebSocket it returns when that is closed.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.once.Do(h.open)
	h.endpoint.ServeHTTP(w, r)
}

func (h *Handler) open() {
	if h.Log == nil {
		h.Log = slog.New(slog.DiscardHandler)
	}
	h.Limits = h.Limits.withDefaults()
	h.endpoint = newEndpoint(h)
}

// Wait returns when no request is being answered, WebSockets included. No new
// ones may come meanwhile.
func (h *Handler) Wait() {
	h.once.Do(h.open)
	h.endpoint.handlers.Wait()
}
