//go:build !linux

package main

import "os"

// dataSync has what was written to a file put on the disk.
func dataSync(f *os.File) error { return f.Sync() }
