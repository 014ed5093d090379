"""Holds the verdict against the truth: simulated Kafka runs, judged as `highwater check` judges real ones.

python -m spark_verify.selftest.model_fuzz                    a correct Kafka, then each planted defect
python -m spark_verify.selftest.model_fuzz --replay 'CASE'    one case again, truth and verdict side by side
"""
