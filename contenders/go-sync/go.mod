module ringside/contenders/go-sync

go 1.19
