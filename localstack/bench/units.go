package main

import "context"

func (b *bench) units(ctx context.Context) error { return nil }
