// Package gateway lets people answer from a browser, and chat front ends ask their users: the
// approver's side of the interface on loopback TCP.
//
// It admits three kinds of caller, each by a secret of its own:
//
//   - A browser, by an invitation that [Gateway.Invite] makes for an approver (sbx web). The
//     invitation works once. It becomes a cookie, which the browser hides from scripts, and a key,
//     which the page hides from other origins; both are needed. (Cookies are shared by all ports of
//     a host, RFC 6265 §8.5: the cookie alone proves too little here.)
//   - A chat front end, by a token with a name and a role, of which only the SHA-256 is stored.
//   - A WebSocket, by a ticket that one of those two got and that works once, because a browser
//     cannot send a key when it opens one.
//
// Refused before any of that: a Host other than the gateway's own address (DNS rebinding), an
// Origin or Sec-Fetch-Site of another site, a connection of another user, and, where the kernel
// reveals the process, a process inside a sandbox or of the requester's tree.
//
// The page gets every string through package display. Front ends get the tool's input unchanged,
// since they show it in ways of their own, with a safe text beside it.
package gateway
