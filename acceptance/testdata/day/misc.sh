mkdir -p out && printf 'a,b\nc,d\n' > data.csv && echo '{}' > data.json && touch shot.png
