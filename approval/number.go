package approval

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Numbers are encoded as sign, significant digits and a power of ten, from
// their shortest decimal form, so that 1, 1.0, 10e-1 and json.Number("1.00")
// are the same, and 2^53 and 2^53+1 are not.

func (e *encoder) integer(n int64) error {
	var a [32]byte
	return e.decimal(strconv.AppendInt(a[:0], n, 10))
}

func (e *encoder) unsigned(n uint64) error {
	var a [32]byte
	return e.decimal(strconv.AppendUint(a[:0], n, 10))
}

func (e *encoder) float(f float64, bits int) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("%v is not a number that can be compared", f)
	}
	var a [32]byte
	return e.decimal(strconv.AppendFloat(a[:0], f, 'e', -1, bits))
}

// number takes a JSON number literal (RFC 8259, section 6).
func (e *encoder) number(s string) error {
	if !validNumber(s) {
		return fmt.Errorf("%q is not a number", s)
	}
	return e.decimal([]byte(s))
}

// decimal encodes a valid literal. Its cost is linear in the literal's
// length: 1e999999999 is not expanded.
func (e *encoder) decimal(s []byte) error {
	negative := false
	if s[0] == '-' {
		negative, s = true, s[1:]
	}
	mantissa, exp := s, int64(0)
	for i, c := range s {
		if c == 'e' || c == 'E' {
			x, err := strconv.ParseInt(string(s[i+1:]), 10, 32)
			if err != nil {
				return fmt.Errorf("exponent of %q out of range", s)
			}
			mantissa, exp = s[:i], x
			break
		}
	}
	e.buf = append(e.buf, 'n')
	mark := len(e.buf)
	e.buf = append(e.buf, '+')
	if negative {
		e.buf[mark] = '-'
	}
	// Significant digits: leading zeros are never written, trailing ones are
	// cut again and counted into the exponent.
	point := false
	for _, c := range mantissa {
		if c == '.' {
			point = true
			continue
		}
		if point {
			exp--
		}
		if c != '0' || len(e.buf) > mark+1 {
			e.buf = append(e.buf, c)
		}
	}
	for len(e.buf) > mark+1 && e.buf[len(e.buf)-1] == '0' {
		e.buf = e.buf[:len(e.buf)-1]
		exp++
	}
	if len(e.buf) == mark+1 { // zero, and there is no negative zero
		e.buf, exp = append(e.buf[:mark], '0'), 0
	}
	e.buf = append(e.buf, 'e')
	e.buf = binary.AppendVarint(e.buf, exp)
	return nil
}

// validNumber checks the grammar; strconv would also take hex and underscores.
func validNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	digits := func() int {
		n := 0
		for len(s) > 0 && s[0] >= '0' && s[0] <= '9' {
			s, n = s[1:], n+1
		}
		return n
	}
	zero := strings.HasPrefix(s, "0")
	if n := digits(); n == 0 || zero && n > 1 {
		return false
	}
	if strings.HasPrefix(s, ".") {
		s = s[1:]
		if digits() == 0 {
			return false
		}
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if digits() == 0 {
			return false
		}
	}
	return s == ""
}
