// Package secret finds probable credentials in a command line, in the arguments of a call and among
// environment variables, and masks them.
//
// The promise: [Mask] replaces values, never names, programs, paths or hosts; every replacement has
// the number of characters; and it covers no white space and none of the characters by which a
// shell would run something, so that no command hides in a mask:
//
//	secret.Mask("curl -H 'Authorization: Bearer abc123' https://ann:pw@host/") ==
//		"curl -H 'Authorization: Bearer [6 masked]' https://ann:[2 masked]@host/"
//
// Records, questions and events carry masked text. Digests, stored grants and the process use the
// true text.
//
// # Limitations
//
// A value of no known form after a neutral name is not found. A value with spaces or with
// characters of the shell in it is not masked: it could be a command. The contents of files and the
// output of commands are not searched.
package secret
