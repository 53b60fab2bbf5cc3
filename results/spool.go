package results

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Spool keeps a run's raw samples in a temporary file while the run goes on,
// second by second, so that the driver's memory stays flat and nothing is
// encoded while something is measured. It is used by one goroutine.
type Spool struct {
	dir  string
	file *os.File
	size int64 // of the whole seconds in the file
	buf  []byte
}

// Spool opens an empty spool. Its file has no name any more once it is open,
// so that nothing of it is left however the program ends.
func (f *Folder) Spool() (*Spool, error) {
	file, err := os.CreateTemp(f.dir, "spool-*.tmp")
	if err != nil {
		return nil, describe("make a temporary file", f.dir, err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, describe("remove a temporary file", f.dir, firstError(err, file.Close()))
	}
	return &Spool{dir: f.dir, file: file}, nil
}

// Add keeps the samples of one interval, in nanoseconds by span. start
// counts from the start of the run's measured window. It writes once; if the
// write fails, the spool still holds what was added before. The slices are
// not kept. A second of 8,000 samples took about 30 µs on two virtual cores
// (BenchmarkSpoolAdd), and allocates nothing.
func (s *Spool) Add(start, length time.Duration, samples map[SpanName][]int64) error {
	buf := binary.AppendVarint(s.buf[:0], int64(start))
	buf = binary.AppendVarint(buf, int64(length))
	known := 0
	for i, name := range SpanNames {
		values, ok := samples[name]
		if !ok {
			continue
		}
		known++
		buf = append(buf, byte(i))
		buf = binary.AppendUvarint(buf, uint64(len(values)))
		for _, v := range values {
			buf = binary.AppendVarint(buf, v)
		}
	}
	if known != len(samples) {
		return errors.New("samples of a span that is none of SpanNames")
	}
	s.buf = append(buf, endOfInterval)
	n, err := s.file.Write(s.buf)
	if err != nil {
		err = describe("keep samples", s.file.Name(), err)
		return firstError(err, s.cutTo(s.size))
	}
	s.size += int64(n)
	return nil
}

// endOfInterval stands where the next span's position in SpanNames would.
const endOfInterval = 0xff

// Encode appends what the spool holds to the label's interval log, as run
// number run at that distance, and empties the spool for the
// next run. runStart is the wall-clock start of the measured window.
func (s *Spool) Encode(label string, run int, d Distance, runStart time.Time) error {
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return describe("read back the samples", s.file.Name(), err)
	}
	path := logPath(s.dir, label)
	log, err := openLog(path, run, d, runStart)
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(io.LimitReader(s.file, s.size), 64<<10)
	err = encodeAll(in, log)
	if err := firstError(err, log.close()); err != nil {
		return describe("write the interval log", path, err)
	}
	return s.cutTo(0)
}

// Forget empties the spool of a run that is not to be kept.
func (s *Spool) Forget() error { return s.cutTo(0) }

func (s *Spool) cutTo(size int64) error {
	if err := s.file.Truncate(size); err != nil {
		return describe("empty the temporary file", s.file.Name(), err)
	}
	if _, err := s.file.Seek(size, io.SeekStart); err != nil {
		return describe("empty the temporary file", s.file.Name(), err)
	}
	s.size = size
	return nil
}

// Close frees the spool's file. What was not encoded is lost.
func (s *Spool) Close() error { return s.file.Close() }

func encodeAll(in *bufio.Reader, log *logWriter) error {
	h := NewHistogram()
	for {
		start, err := binary.ReadVarint(in)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		length, err := binary.ReadVarint(in)
		if err != nil {
			return err
		}
		if err := encodeInterval(in, log, h, time.Duration(start), time.Duration(length)); err != nil {
			return err
		}
	}
}

func encodeInterval(in *bufio.Reader, log *logWriter, h *Histogram, start, length time.Duration) error {
	for {
		span, err := in.ReadByte()
		if err != nil {
			return err
		}
		if span == endOfInterval {
			return nil
		}
		if int(span) >= len(SpanNames) {
			return fmt.Errorf("the samples kept are damaged: span %d", span)
		}
		h.Reset()
		if err := readSamples(in, h); err != nil {
			return err
		}
		if err := log.write(SpanNames[span], start, length, h); err != nil {
			return err
		}
	}
}

func readSamples(in *bufio.Reader, h *Histogram) error {
	count, err := binary.ReadUvarint(in)
	if err != nil {
		return err
	}
	for range count {
		ns, err := binary.ReadVarint(in)
		if err != nil {
			return err
		}
		h.Record(ns)
	}
	return nil
}
