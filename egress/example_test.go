package egress_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"

	"sandboxd/egress"
)

// hosts is a policy that allows some names.
type hosts []string

func (h hosts) Judge(_ context.Context, t egress.Target) egress.Ruling {
	if h.Allows(t) {
		return egress.Ruling{Allowed: true}
	}
	return egress.Ruling{Why: t.Name + " is not listed"}
}

func (h hosts) Allows(t egress.Target) bool {
	for _, name := range h {
		if t.Name == name {
			return true
		}
	}
	return false
}

func (hosts) Granted(netip.Addr, uint16) bool { return false }
func (hosts) Denied(netip.Addr, uint16) bool  { return false }

// oneAddress resolves every name to an address for documentation.
type oneAddress struct{}

func (oneAddress) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("203.0.113.5")}, nil
}

// A gate carries a request to a listed host and refuses the others.
func Example() {
	site := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello from ", r.Host) }),
	)
	defer site.Close()
	gate := egress.Open(egress.Options{
		Policy:   hosts{"docs.example"},
		Resolver: oneAddress{},
		Dial: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", site.Listener.Addr().String())
		},
		Own:     func() ([]netip.Addr, error) { return nil, nil },
		Refused: func(r egress.Refusal) { fmt.Println("refused:", r.Target) },
	})
	defer gate.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go gate.ServeHTTP(listener)

	proxy := &url.URL{Scheme: "http", Host: listener.Addr().String()}
	client := http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}}
	for _, address := range []string{"http://docs.example/", "http://tracker.example/"} {
		response, err := client.Get(address)
		if err != nil {
			panic(err)
		}
		response.Body.Close()
		fmt.Println(address, response.StatusCode)
	}
	// Output:
	// http://docs.example/ 200
	// refused: tracker.example:80
	// http://tracker.example/ 403
}
