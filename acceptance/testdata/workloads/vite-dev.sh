# A vite development server started by one command, asked by the next ones, which edit what it serves; then its build.
#session
printf '{"name":"m","version":"1.0.0","type":"module"}' > package.json; printf 'node_modules\ndist\n*.log\n' > .gitignore
npm install --silent --no-fund --no-audit vite@5
echo '<script type=module src=/main.js></script>' > index.html; echo 'document.title = "one"' > main.js
#run
nohup timeout 40 npx vite --port 5199 --host 127.0.0.1 > vite.log 2>&1 & sleep 9; echo started
curl -s http://127.0.0.1:5199/main.js | grep -o one
sed -i s/one/two/ main.js && sleep 2 && curl -s http://127.0.0.1:5199/main.js | grep -o two
npx vite build 2>&1 | grep -o 'modules transformed'
