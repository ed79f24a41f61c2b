def print_all(box):
    done = []
    for job in box.take():
        if job.startswith("urgent"):
            done.insert(0, job)
        else:
            done.append(job)
    return done
