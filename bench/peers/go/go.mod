module rota_bench_go

go 1.19
