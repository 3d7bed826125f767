package main

import (
	"os"
	"syscall"
)

// dataSync has what was written to a file put on the disk, as the embedded table does.
func dataSync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
