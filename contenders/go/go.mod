module ringside/contenders/go

go 1.23.0
