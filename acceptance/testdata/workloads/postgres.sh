# A PostgreSQL cluster in the project.
printf 'data\n' > .gitignore; touch keep
#run
PATH=$PATH:/usr/lib/postgresql/15/bin; initdb -D data -A trust -U me > init.log && pg_ctl -w -D data -o '-k /tmp -p 5499' -l pg.log start > /dev/null && psql -h 127.0.0.1 -p 5499 -U me -Atc 'select 6 * 7' postgres; pg_ctl -D data -m fast stop > /dev/null
