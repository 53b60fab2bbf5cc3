package history

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// lineBytes is the longest line that is read. An operation takes some 400.
const lineBytes = 1 << 20

// Read reads a history that Write wrote. Its error names the file and says
// what is wrong with one that is damaged, cut off or of another kind, and
// from which line on. Then nothing is returned: the checkers need all of it.
func Read(path string) (Header, []Op, error) {
	file, err := os.Open(path)
	if err != nil {
		return Header{}, nil, fmt.Errorf("cannot read the history: %w", err)
	}
	defer file.Close()
	h, ops, err := decode(file)
	if err != nil {
		return Header{}, nil, fmt.Errorf("cannot read the history %s: %w", path, err)
	}
	return h, ops, nil
}

func decode(r io.Reader) (Header, []Op, error) {
	plain, err := gzip.NewReader(bufio.NewReader(r))
	switch {
	case err == io.EOF:
		return Header{}, nil, errors.New("it is empty")
	case errors.Is(err, gzip.ErrHeader):
		return Header{}, nil, errors.New("it is not compressed by gzip, as histories are")
	case err != nil:
		return Header{}, nil, explain(1, err)
	}
	lines := &lineReader{scanner: bufio.NewScanner(plain)}
	lines.scanner.Buffer(nil, lineBytes)
	h, err := lines.header()
	if err != nil {
		return Header{}, nil, err
	}
	var ops []Op
	for {
		o, err := lines.operation()
		if err == io.EOF {
			return h, ops, nil
		}
		if err != nil {
			return Header{}, nil, err
		}
		ops = append(ops, o)
	}
}

// lineReader reads a history's lines and knows where it is.
type lineReader struct {
	scanner *bufio.Scanner
	number  int // of the line that was read last, from 1
}

// next returns the next line, or io.EOF. A file that was cut off in a line
// ends in what is no JSON: that it was cut off is told first.
func (l *lineReader) next() ([]byte, error) {
	l.number++
	more := l.scanner.Scan()
	if err := l.scanner.Err(); err != nil {
		return nil, explain(l.number, err)
	}
	if !more {
		return nil, io.EOF
	}
	return l.scanner.Bytes(), nil
}

func (l *lineReader) header() (Header, error) {
	line, err := l.next()
	if err == io.EOF {
		return Header{}, errors.New("it has no header, nor anything else")
	}
	if err != nil {
		return Header{}, err
	}
	var kind struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return Header{}, fmt.Errorf("line 1 is no header: %w", err)
	}
	if kind.Schema != Schema {
		return Header{}, fmt.Errorf("it has the schema %q, not %q", kind.Schema, Schema)
	}
	var h Header
	if err := unmarshal(line, &h); err != nil {
		return Header{}, fmt.Errorf("line 1 is no header: %w", err)
	}
	return h, nil
}

func (l *lineReader) operation() (Op, error) {
	line, err := l.next()
	if err != nil {
		return Op{}, err
	}
	var o Op
	err = unmarshal(line, &o)
	if err == nil {
		err = o.check()
	}
	if err != nil {
		return Op{}, fmt.Errorf("line %d is no operation: %w", l.number, err)
	}
	return o, nil
}

// unmarshal takes the one value in line, and nothing that it does not know.
func unmarshal(line []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if decoder.More() {
		return errors.New("more than one value")
	}
	return nil
}

// explain says what an error in the stream means for whoever has the file.
func explain(line int, err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("it is cut off, from line %d on: %w", line, err)
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("line %d is longer than any operation: %w", line, err)
	}
	return fmt.Errorf("it is damaged, from line %d on: %w", line, err)
}
