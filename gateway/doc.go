// Package gateway lets people answer from a browser, and chat front ends ask
// their users: the approver's side of the interface on loopback TCP.
//
// Three kinds of caller reach it, each by a secret of its own:
//
//   - A browser, by an invitation that [Gateway.Invite] makes for somebody who
//     is an approver already (sbx web). The invitation works once. It becomes a
//     cookie, which the browser keeps from scripts, and a key, which the page
//     keeps from other origins; both are needed. (Cookies are shared by all
//     ports of a host, RFC 6265 §8.5: the cookie alone proves too little here.)
//   - A chat front end, by a token with a name and a role, of which only the
//     SHA-256 is kept.
//   - A WebSocket, by a ticket that one of those two got and that works once,
//     because a browser cannot send a key when it opens one.
//
// What is refused before any of that: a Host that is not the gateway's own
// address (DNS rebinding), an Origin or Sec-Fetch-Site of another site, a
// connection of another user, and, where the kernel lets the process be found,
// a process inside a sandbox or of the tree that asks.
//
// The page gets every string as package display shows it. Front ends get the
// tool's input as it is, since they show it in ways of their own, with a text
// made safe beside it.
package gateway
