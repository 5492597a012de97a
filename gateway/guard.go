package gateway

import (
	"encoding/json"
	"net/http"
	"time"

	"sandboxd/ipc"
)

// headers go with every answer (CSP level 3, Fetch Metadata, HTML).
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src " +
		"'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types " +
		"'none'",
	"X-Frame-Options":              "DENY",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), microphone=(), geolocation=(), payment=()",
	"Cache-Control":                "no-store",
}

// patience is how long a stranger may take to send a request or to read the answer.
const patience = 10 * time.Second

// guard refuses requests that neither our pages nor front ends send.
func (g *Gateway) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hurry(w, r)
		for k, v := range headers {
			w.Header().Set(k, v)
		}
		if !contains(g.addresses, r.Host) {
			refuse(w, &ipc.Error{Code: ipc.CodeForbidden, Status: http.StatusMisdirectedRequest,
				Message: "this server does not go by that name", Hint: "use the address that sbx web prints"})
			return
		}
		if bad := g.foreignPage(r); bad != nil {
			refuse(w, bad)
			return
		}
		if g.cors(w, r) {
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
		next.ServeHTTP(w, r)
	})
}

// hurry bounds the time of an unidentified caller. Package ipc bounds that of approvers.
func hurry(w http.ResponseWriter, r *http.Request) {
	rc := http.NewResponseController(w)
	rc.SetWriteDeadline(time.Now().Add(patience))
	if r.ContentLength != 0 { // else the server's watch for a hang-up would run into it
		rc.SetReadDeadline(time.Now().Add(patience))
	}
}

// atEase takes hurry's bounds away again.
func atEase(w http.ResponseWriter) {
	rc := http.NewResponseController(w)
	rc.SetWriteDeadline(time.Time{})
	rc.SetReadDeadline(time.Time{})
}

// foreignPage refuses requests of another site's page. A page of a configured origin may send those
// with a token, which no browser adds by itself.
func (g *Gateway) foreignPage(r *http.Request) *ipc.Error {
	bad := &ipc.Error{Code: ipc.CodeForbidden, Message: "a page of another site may not use this",
		Hint: "its origin has to be in [gateway] origins, and it needs a front end's token"}
	if origins := r.Header["Origin"]; len(origins) > 0 {
		if len(origins) > 1 {
			return bad
		}
		switch {
		case contains(g.origins, origins[0]) && origins[0] == "http://"+r.Host:
		case contains(g.foreign, origins[0]):
			if r.Method != http.MethodOptions && r.Header.Get("Authorization") == "" && r.URL.Query().Get("ticket") == "" {
				return bad
			}
			return nil
		default:
			return bad
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin":
		return nil
	case "none": // typed, or opened by a program
		if r.Method == http.MethodGet {
			return nil
		}
	default:
		// Somebody's link leads to the page itself: that shows it, and no more.
		if r.Method == http.MethodGet && r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
			r.Header.Get("Sec-Fetch-Dest") == "document" {
			return nil
		}
	}
	return bad
}

// refuse answers with an error in the interface's own form.
func refuse(w http.ResponseWriter, e *ipc.Error) {
	reply(w, e.HTTPStatus(), map[string]*ipc.Error{"error": e})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.Encode(v)
}
