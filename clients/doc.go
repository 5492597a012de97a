// Package clients holds no code of its own: its tests keep the clients in
// other languages to the protocol.
//
// The types and the methods of each operation in python/src/sandboxd/ and
// typescript/src/ are written from docs/openapi.yaml; TestGenerated fails where
// they differ from it, and UPDATE=1 go test ./clients rewrites them.
// The part for people (sessions, streams, the wrapper that puts a function
// behind approval) is written by hand on top of them. conformance/ has the
// exchanges that every client must make alike; acceptance/ plays them against
// the real daemon.
//
// # Limitations
//
// Node can't ask the kernel for the owner of a socket. The TypeScript client
// looks at the owner of the socket and of its directory instead, which is as
// much as a program without native code can do.
package clients
