module ringside/contenders/go-workers

go 1.23.0
