"""May the thresholds that stop a run be calibrated on earlier runs without stopping good ones more often?"""
