# Prints which till this is.
echo 'till 0'
