// Package egress is the allowlist proxy: the only way out of a sandbox whose network mode is
// "allowlist".
//
// The proxy runs outside. For every command there is one [Gate], which serves listeners that the
// command's launch stage made inside the command's own network namespace and passed as descriptors:
// one speaks HTTP (CONNECT and plain requests), one SOCKS5. Nothing but that namespace can reach
// them, and when they are closed there is no network at all.
//
// A request names a host. It is parsed once (parseTarget), judged once by the gate's [Policy],
// which may take as long as a person needs, and only then resolved, because a lookup alone can leak
// a secret. Every address in the result is checked, and a checked address is dialled: no second
// lookup can change it. TLS is passed through unopened; the server name of a visible ClientHello
// must be the judged host, and so must the Host of every plain HTTP request.
//
//	gate := egress.Open(egress.Options{Policy: policy})
//	go gate.ServeHTTP(httpListener)
//	go gate.ServeSOCKS(socksListener)
//	…
//	report := gate.Close()
//
// # Limitations
//
// A listed host can do anything with the data. A server that is shared by several names (a content
// network) can be asked for another of them under TLS with encrypted names, or in HTTP/2 without
// TLS. UDP, and with it QUIC, does not pass.
package egress
