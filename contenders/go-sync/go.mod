module ringside/contenders/go-sync

go 1.23.0
