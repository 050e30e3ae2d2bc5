document.getElementById("link").submit();
