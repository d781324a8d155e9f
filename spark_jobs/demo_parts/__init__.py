"""What `python -m oncelog.spark_jobs.demo` runs, kills, counts and draws."""
