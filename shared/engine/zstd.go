package engine

import "github.com/klauspost/compress/zstd"

// The compressors serve any number of goroutines. They are made at the start and not when they are first used, at a cost of 0.1 ms:
// they hold channels, and those must not belong to the synctest bubble of whichever test came first.
var (
	zstdEncoder = newEncoder()
	// zstdDecoder is for what is sent in by way of commits, which are bounded.
	zstdDecoder = newDecoder(zstd.WithDecoderMaxMemory(maxUnpacked))
	// snapshotDecoder is for what a hash has vouched for.
	snapshotDecoder = newDecoder()
)

// newEncoder has a window of what the largest commit needs.
func newEncoder() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(256<<10), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // the options are constants
	}
	e.EncodeAll(nil, nil) // makes what it holds
	return e
}

func newDecoder(o ...zstd.DOption) *zstd.Decoder {
	d, err := zstd.NewReader(nil, append(o, zstd.WithDecoderConcurrency(0))...)
	if err != nil {
		panic(err) // the options are constants
	}
	return d
}
