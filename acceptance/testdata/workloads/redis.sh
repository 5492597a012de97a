# A redis server and its client.
printf 'port 6399\nbind 127.0.0.1\nsave ""\n' > redis.conf
#run
redis-server redis.conf > redis.log 2>&1 & sleep 2; redis-cli -p 6399 set a 1; redis-cli -p 6399 get a; redis-cli -p 6399 shutdown nosave
